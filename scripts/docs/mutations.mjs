import { table } from './markdown.mjs';

/** The rules that `npm run mutants` takes away, with the tests that must fail. */
export function mutationTable(mutations) {
  return table(
    ['mutation', 'what is taken away', 'caught by'],
    mutations.map(({ name, about, tests }) => [
      `\`${name}\``,
      about,
      tests.map(({ file, title }) => `[${title}](../../${file})`).join(', '),
    ]),
  );
}
