/** What the process says when it ends. Numbers are never reused; docs/reference/cli.md is made from this table. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  alarm: 3,
  notFound: 4,
  notConfirmed: 5,
  unreachable: 6,
  schema: 7,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANING: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'Done.',
  unexpected: 'Something unexpected: an error nobody foresaw, or a right that is missing.',
  usage: 'The command line or the configuration is wrong; nothing was done.',
  alarm:
    'Unfinished work that nothing will look at again (`status`), or no answer in time whether there is any; or a database that was not adopted. A person must look.',
  notFound: 'Nothing is known under that key or identifier.',
  notConfirmed: 'It was done, but not every relay confirmed it in time (`switch --wait`).',
  unreachable: 'The database cannot be reached: no answer, no such database, or a refused login.',
  schema: 'The schema is missing there, or its version does not fit this program: run `comanda migrate`.',
};
