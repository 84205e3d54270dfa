import { describe, expect, it } from 'vitest';
import type { Outcome } from '../ports/outcome.js';
import { completed, failed, retry, unknown } from './outcomes.js';
import { lessonOf } from './target-lesson.js';

describe('what an attempt says about its target', () => {
  it.each<[Outcome, ReturnType<typeof lessonOf>]>([
    [completed(), 'alive'],
    [failed({ status: 422 }), 'alive'],
    [failed({ errorClass: 'address_refused' }), 'nothing'],
    [retry({ status: 401, breaksTarget: true, burnsAttempt: false }), 'refuses'],
    [retry({ status: 429, pausesTarget: true, burnsAttempt: false }), 'patience'],
    [retry({ pausesTarget: 'here', burnsAttempt: false, errorClass: 'closed' }), 'here'],
    [retry({ errorClass: 'ECONNREFUSED', notSent: true }), 'down'],
    [retry({ status: 503, errorClass: 'http_503' }), 'down'],
    [unknown({ errorClass: 'timeout' }), 'down'],
    [unknown({ status: 500 }), 'down'],
    [retry({ status: 429, errorClass: 'http_429' }), 'nothing'],
    [retry({ status: 409, errorClass: 'http_409' }), 'nothing'],
    [retry({ errorClass: 'aborted', burnsAttempt: false }), 'nothing'],
    [retry({ errorClass: 'request_not_made', notSent: true }), 'nothing'],
    [retry(), 'nothing'],
  ])('%j: %s', (outcome, lesson) => {
    expect(lessonOf(outcome, false)).toBe(lesson);
  });

  it('what we stopped ourselves says nothing', () => {
    expect(lessonOf(unknown({ errorClass: 'aborted' }), true)).toBe('nothing');
  });
});
