import { Command, type Option } from 'commander';
import { withDatabaseOptions } from './command.js';
import { EXIT, EXIT_MEANING } from './exit-codes.js';

const INTRO = `---
documentationType: reference
---

# The command line

<!-- Made by scripts/build-cli-docs.mjs from the definitions in packages/cli/src; changes made here are overwritten. -->

\`comanda\` comes with the package \`@comanda/cli\`. Results go to standard output, remarks and errors to standard error.

## Which database

A database is used because somebody named it, never because a variable of the shell happens to be set: \`PGHOST\`, \`PGPASSWORD\`,
\`PGSSLMODE\` and their kin are taken out of the process before the driver is loaded. Every command that needs a database wants one of

- \`--database-url URL\`, for example \`postgresql://user@host:5432/database\`;
- \`--database-url env:NAME\`, which takes the URL from the variable \`NAME\` and keeps the password out of the process list;
- \`--dev\`, the server that \`comanda dev\` runs for this folder (\`--data-dir\` names another folder).

The URL must name host and database. The user defaults to the one of the operating system, the port to 5432.

## Output

With \`--json\` a command prints one JSON document (\`relay --json\` and \`status --watch --json\`: one per line). Names are in snake case, times are ISO
8601 in UTC and end in \`_at\`, lengths of time are milliseconds and end in \`_ms\`, identifiers and versions are texts of digits.

Without it, tables fit the width of the screen; what does not fit is cut and ends in \`…\`. Into a pipe nothing is cut. Colours appear on a screen
only, and not when \`NO_COLOR\` is set. Control characters, changes of writing direction and invisible characters in texts of others are shown as
escapes such as \`\\e\` or \`\\u202e\`, in JSON as \`\\u001b\`.

An error is one line on standard error: \`comanda: <what happened>. <what to do> (<code>, <where it is explained>)\`.

## Exit codes
`;

const SIGNALS = `
A second SIGINT or SIGTERM ends \`relay\` and \`dev\` at once, with 130 or 143.
`;

const CONFIGURATION = `
## Configuration of a relay

\`--config\` names a module (\`.mjs\`, \`.js\`) whose default export is \`{ effects: [...] }\` or the list itself, made with \`defineEffect()\` or \`httpEffect()\`:

\`\`\`js
import { httpEffect } from 'comanda/transports/http';

export default {
  effects: [
    httpEffect({
      kind: 'crm_note',
      risk: 'reversible',
      idempotency: 'key',
      request: { url: 'https://crm.example/notes', headers: { authorization: \`Bearer \${process.env.CRM_KEY}\` } },
    }),
  ],
};
\`\`\`

or a JSON file with [HTTP effects](configuration.md#http-effects-as-json). \`\${env:NAME}\` in values of headers is replaced by the variable \`NAME\`, which must be set, so that secrets stay out of the file; nowhere else:

\`\`\`json
{
  "effects": [
    {
      "kind": "crm_note",
      "risk": "reversible",
      "idempotency": "key",
      "url": "https://crm.example/notes",
      "headers": { "authorization": "Bearer \${env:CRM_KEY}" }
    }
  ]
}
\`\`\`

## Environment variables

| variable | read by | meaning |
|---|---|---|
| \`AI_ACTIONS_ENABLED\` | \`relay\`, \`dev --relay\` | \`true\`: effects decided by agents may leave. \`false\`: they are held, and those of undeclared actors, too. Unset or anything else: effects decided by agents are held |
| \`COMANDA_ENVIRONMENT\` | \`migrate\`, \`relay\` | name of the environment, when \`--environment\` is not given |
| \`NO_COLOR\` | all | not empty: no colours |
| whatever \`env:NAME\` and \`\${env:NAME}\` name | | connection URLs and secrets |

## When a handler lets an error loose

An error that nothing catches in the process of a relay (a timer, a promise that nobody awaits) is logged, the relay stops in order, writes every outcome,
and ends with exit code 1, so that whatever supervises it starts a fresh process.
`;

/** The reference page of the whole command line. */
export function reference(program: Command): string {
  const codes = Object.entries(EXIT).map(
    ([name, code]) => `| ${code} | ${cell(EXIT_MEANING[name as keyof typeof EXIT])} |`,
  );
  return [
    INTRO,
    '| code | meaning |',
    '|---|---|',
    ...codes,
    SIGNALS,
    '## Commands',
    '',
    'Commands that say "and those of the database" take these, too:',
    '',
    ...optionTable(databaseOptions()),
    ...program.commands.flatMap((command) => section(command, [program.name()])),
    CONFIGURATION,
  ]
    .join('\n')
    .replace(/\n{3,}/g, '\n\n');
}

function section(command: Command, parents: readonly string[]): readonly string[] {
  const path = [...parents, command.name()];
  const title = `\n${'#'.repeat(path.length + 1)} ${path.join(' ')}\n`;
  if (command.commands.length > 0) {
    return [title, `${capital(command.description())}.`, ...command.commands.flatMap((inner) => section(inner, path))];
  }
  const description = command.description();
  return [
    title,
    `\`\`\`\n${[...path, command.usage()].join(' ')}\n\`\`\`\n`,
    description === command.summary() ? `${capital(description)}.` : description.replaceAll('\n', '\n\n'),
    '',
    ...argumentTable(command),
    ...ownOptions(command),
  ];
}

function databaseOptions(): readonly Option[] {
  return withDatabaseOptions(new Command()).options;
}

/** The options of the database are told once. */
function ownOptions(command: Command): readonly string[] {
  const shared = databaseOptions().map(({ flags }) => flags);
  const own = command.options.filter(({ flags }) => !shared.includes(flags));
  const all = shared.every((flags) => command.options.some((option) => option.flags === flags));
  return all ? [...optionTable(own), 'And those of the database.', ''] : optionTable(command.options);
}

function argumentTable(command: Command): readonly string[] {
  if (command.registeredArguments.length === 0) return [];
  const rows = command.registeredArguments.map((argument) => {
    const name = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
    return `| \`${cell(name)}\` | ${cell(argument.description)}${choices(argument.argChoices)}${byDefault(argument.defaultValue, argument.defaultValueDescription)} |`;
  });
  return ['| argument | meaning |', '|---|---|', ...rows, ''];
}

function optionTable(options: readonly Option[]): readonly string[] {
  const rows = options.map((option) => {
    const must = option.mandatory ? '. Required' : '';
    return `| \`${cell(option.flags)}\` | ${cell(option.description)}${choices(option.argChoices)}${byDefault(option.defaultValue, option.defaultValueDescription)}${must} |`;
  });
  return ['| option | meaning |', '|---|---|', ...rows, ''];
}

function choices(words: readonly string[] | undefined): string {
  return words === undefined ? '' : ` (${words.map((word) => `\`${word}\``).join(', ')})`;
}

function byDefault(value: unknown, description: string | undefined): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return '';
  return `. Default: \`${description ?? String(value)}\``;
}

/** A text inside a table: no line breaks, no bars. */
function cell(text: string): string {
  return text.replaceAll('\n', ' ').replaceAll('|', '\\|');
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
