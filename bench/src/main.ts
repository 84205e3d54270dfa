import { smoke } from './smoke.js';

const USAGE = `npm run bench -- smoke [--pairs N] [--effects N] [--json]

  smoke   decide() against two bare INSERTs, ordered drain against graphile-worker's localQueue; a few pairs
`;

/** `--name value` or a default. */
function option(name: string, fallback: number): number {
  const index = process.argv.indexOf(`--${name}`);
  const value = index < 0 ? fallback : Number(process.argv[index + 1]);
  if (!Number.isInteger(value) || value < 1) {
    process.stderr.write(`--${name} must be a whole number from 1\n`);
    process.exit(2);
  }
  return value;
}

if (process.argv[2] !== 'smoke') {
  process.stderr.write(USAGE);
  process.exit(2);
}
const correct = await smoke({
  pairs: option('pairs', 3),
  effects: option('effects', 20_000),
  json: process.argv.includes('--json'),
});
process.exit(correct ? 0 : 1);
