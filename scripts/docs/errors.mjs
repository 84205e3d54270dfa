import { cell, table } from './markdown.mjs';

const RETRY = {
  never: 'no',
  now: 'at once, in a new transaction',
  later: 'after something outside has changed',
};

/** One line per error. */
export function errorTable(errors) {
  return table(
    ['code', 'SQLSTATE', 'worth repeating?'],
    Object.entries(errors).map(([code, { sqlstate, retry }]) => [
      `[\`${code}\`](#${code.toLowerCase()})`,
      sqlstate === undefined ? '' : `\`${sqlstate}\``,
      RETRY[retry],
    ]),
  );
}

/** One section per error; its anchor is what `ComandaError.docs` points to. */
export function errorSections(errors) {
  return Object.entries(errors)
    .map(([code, { sqlstate, retry, summary, whatToDo }]) =>
      [
        `## ${code}`,
        '',
        summary.replaceAll(/\{(\w+)\}/g, '*$1*'),
        '',
        `**What to do.** ${whatToDo}`,
        '',
        `SQLSTATE: ${sqlstate === undefined ? 'none, only TypeScript raises it' : `\`${sqlstate}\``}. Worth repeating: ${cell(RETRY[retry])}.`,
      ].join('\n'),
    )
    .join('\n\n');
}
