import { CommanderError } from 'commander';
import type { Environment } from './environment.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { failureOf, usage } from './failure.js';
import { createProgram } from './program.js';
import type { Terminal } from './terminal.js';

/** Runs one command line. Resolves to the exit code; whatever goes wrong has been told on standard error. */
export async function run(args: readonly string[], terminal: Terminal, env: Environment): Promise<ExitCode> {
  let where: string | undefined;
  let code: ExitCode = EXIT.ok;
  const program = createProgram({
    terminal,
    env,
    at: (shown) => {
      where = shown;
    },
    done: (ended) => {
      code = ended;
    },
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    // Help was shown because no command was named.
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
    const failure = failureOf(error instanceof CommanderError ? usage(commanderText(error)) : error, where);
    terminal.notes([failure.line]);
    return failure.exitCode;
  }
}

/** `error: unknown option '--jsn'\n(Did you mean --json?)` becomes two sentences. */
function commanderText(error: CommanderError): string {
  const [problem = '', ...more] = error.message.replace(/^error: /, '').split('\n');
  const hint = more.join(' ').replace(/^\((.*)\)$/, '$1');
  const sentence = problem.replace(/[.]$/, '');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}. ${hint === '' ? 'See --help for what there is.' : hint}`;
}
