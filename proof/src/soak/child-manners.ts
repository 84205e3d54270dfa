/** How the processes of a soak behave towards the one that started them. */

/** The only argument: settings as JSON. */
export function settings<Settings>(): Settings {
  return JSON.parse(process.argv[2] ?? '{}') as Settings;
}

/** A line for the starter. */
export function say(line: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Ends this process with its starter: the pipe between them closes. */
export function endWithStarter(): void {
  process.stdin.on('end', () => process.exit(0)).resume();
}

/** Runs `command` for each JSON line that the starter writes. */
export function onCommand(command: (name: string) => void): void {
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) command(JSON.parse(line) as string);
  });
}
