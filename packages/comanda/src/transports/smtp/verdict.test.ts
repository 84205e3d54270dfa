import { expect, test } from 'vitest';
import { classify } from './classify.js';
import { accepted, refusal, type SmtpError, verdict } from './verdict.js';

test.each([
  ['250 2.0.0 Ok: queued as 4Xk2Lq1z', '4Xk2Lq1z'],
  ['250 2.0.0 Ok: queued as <4Xk2.1>.', '4Xk2.1'],
  ['250 OK id=1tAbCd-0001-Xy', '1tAbCd-0001-Xy'],
  ['250 2.0.0 accepted', undefined],
])('the queue id of %j', (response, id) => {
  expect(accepted(response, undefined, []).evidence.providerId).toBe(id);
});

test('the Message-ID that a server gave instead of ours is kept', () => {
  expect(accepted('250 fine', '<x@y>', []).evidence.providerId).toBe('<x@y>');
});

const refused = (recipient: string, responseCode: number): SmtpError =>
  Object.assign(new Error('refused'), { recipient, responseCode, response: `${responseCode} no`, code: 'EENVELOPE' });

test('a message that was taken although recipients had been refused is not called completed', () => {
  const { event, evidence } = accepted('250 queued as 7', undefined, [refused('beto@example.com', 550)]);
  expect(classify(event, evidence)).toMatchObject({
    outcome: 'unknown',
    providerId: '7',
    errorText: 'beto@example.com: 550 no',
  });
});

test('one recipient who will never be accepted decides, whatever the others say', () => {
  const delivery = refusal([refused('ana@example.com', 450), refused('beto@example.com', 550)]);
  expect(delivery).toMatchObject({ event: 'neverHere', evidence: { status: 550 } });
  expect(refusal([])).toBeUndefined();
});

test('after the end of the message only a whole reply to it is an answer', () => {
  const cut: SmtpError = Object.assign(new Error('closed'), {
    code: 'ECONNECTION',
    command: 'CONN',
    responseCode: 451,
  });
  expect(verdict('answer', cut).event).toBe('noAnswer');
  expect(verdict('envelope', cut).event).toBe('notSent');
  expect(
    verdict('answer', Object.assign(new Error('no'), { code: 'EMESSAGE', command: 'DATA', responseCode: 451 })).event,
  ).toBe('laterHere');
});
