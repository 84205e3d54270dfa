import { parseOptions, type SoakOptions, USAGE } from './options.js';
import { report } from './report.js';
import { faults } from './result.js';
import { soak } from './run.js';

/** A run that is shorter has hardly begun at its tenth. */
const MEMORY_FROM_MINUTES = 20;

async function run(options: SoakOptions): Promise<void> {
  const enough = new AbortController();
  // The first signal ends the run in order: drained, judged, and nothing left running. The second one ends this process, and what it started with it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (enough.signal.aborted) process.exit(130);
      enough.abort();
    });
  }
  const tell = options.json ? () => undefined : (line: string) => console.log(line);
  tell(`soak: ${options.minutes} minutes, seed ${options.seed}`);
  const result = await soak({ ...options, tell, enough: enough.signal });
  const problems = faults(result, result.minutes >= MEMORY_FROM_MINUTES);
  console.log(options.json ? JSON.stringify({ ...result, problems }) : `\n${report(result, problems)}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

try {
  const options = parseOptions(process.argv.slice(2), Date.now() % 2 ** 31);
  if (options === 'help') console.log(USAGE);
  else await run(options);
} catch (error) {
  console.error(error instanceof TypeError ? `${error.message}\n\n${USAGE}` : error);
  process.exitCode = 2;
}
// Without a word the runtime waits for sockets that were half open when their other end was killed, and waits for ever.
process.exit();
