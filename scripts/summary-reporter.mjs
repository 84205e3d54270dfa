// A vitest reporter that says nothing while all is well. It prints each failure in full, each skipped test with its
// reason (`ctx.skip('reason')`), and always ends with one line of the form `N passed, N failed, N skipped`.
import { stripVTControlCharacters } from 'node:util';

const write = (line = '') => process.stdout.write(`${line}\n`);
const indent = (text) => text.replaceAll(/^(?=.)/gm, '    ');
const where = (entity) =>
  entity.module ? `${entity.module.relativeModuleId} > ${entity.fullName}` : entity.relativeModuleId;

function describeError(error, depth = 0) {
  const head = error.stack && !error.stacks?.length ? error.stack : `${error.name ?? 'Error'}: ${error.message}`;
  const frames = (error.stacks ?? []).map((f) => `at ${f.method || '<anonymous>'} (${f.file}:${f.line}:${f.column})`);
  const parts = [head, ...(error.diff ? [error.diff] : []), ...frames];
  if (error.cause && typeof error.cause === 'object' && depth < 5) {
    parts.push(`caused by ${describeError(error.cause, depth + 1)}`);
  }
  return stripVTControlCharacters(parts.join('\n'));
}

function failures(entity, errors) {
  write(`FAILED ${where(entity)}`);
  for (const error of errors) write(indent(describeError(error)));
  write();
}

export default class SummaryReporter {
  #logs = new Map();
  #watch = false;
  #verdict = { passed: 0, failed: 0, skipped: 0 };

  onInit(vitest) {
    // At exit, so that nothing follows it: a failing set-up or tear-down is reported after the end of the test run.
    this.#watch = vitest.config.watch;
    if (!this.#watch) process.once('exit', (code) => this.#close(code));
  }

  #close(code) {
    const { passed, failed, skipped } = this.#verdict;
    write(`${passed} passed, ${failed === 0 && code !== 0 ? 1 : failed} failed, ${skipped} skipped`);
  }

  // What a test printed is shown only together with its failure.
  onUserConsoleLog(log) {
    const key = log.taskId ?? '';
    this.#logs.set(key, `${this.#logs.get(key) ?? ''}${log.content}`);
  }

  onTestRunEnd(modules, unhandledErrors, reason) {
    const count = { passed: 0, failed: 0, skipped: 0 };
    const skipped = [];

    for (const module of modules) {
      const moduleErrors = module.errors();
      if (moduleErrors.length > 0) {
        count.failed += 1;
        failures(module, moduleErrors);
      }
      for (const suite of module.children.allSuites()) {
        const errors = suite.errors();
        if (errors.length === 0) continue;
        count.failed += 1;
        failures(suite, errors);
      }
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === 'passed') count.passed += 1;
        else if (result.state === 'failed') {
          count.failed += 1;
          failures(test, result.errors);
          const printed = this.#logs.get(test.id);
          if (printed) write(`  printed by this test:\n${indent(printed)}`);
        } else {
          count.skipped += 1;
          skipped.push(`SKIPPED ${where(test)}: ${result.note ?? 'no reason given'}`);
        }
      }
    }

    for (const error of unhandledErrors) {
      count.failed += 1;
      write(`UNHANDLED ERROR\n${indent(describeError(error))}\n`);
    }
    if (reason === 'interrupted') {
      count.failed += 1;
      write('The run was interrupted.');
    }
    if (modules.length === 0 && unhandledErrors.length === 0)
      write('No test ran: no file matches, or the set-up failed.');
    for (const line of skipped) write(line);
    this.#verdict = count;
    if (this.#watch) this.#close(0);
  }
}
