/** What a statement is called in the list of boundaries: the product's function, with what a settle says; or the beginning of its text. */
export function statementName(sql: string, params: readonly string[]): string {
  const called = /\bcomanda[.](\w+)\(/.exec(sql)?.[1];
  if (called === 'settle') return `settle ${settled(params[0] ?? '{}')}`;
  if (called !== undefined) return called;
  const words = sql
    .replace(/'[^']*'|"[^"]*"|\$\d+/g, '…')
    .replace(/\s+/g, ' ')
    .trim();
  return words.length > 48 ? `${words.slice(0, 47)}…` : words;
}

interface SettleLane {
  readonly mode: string;
  readonly trouble?: string;
  readonly ended?: readonly { readonly state: string }[];
}

function settled(json: string): string {
  const { lanes = [] } = JSON.parse(json) as { readonly lanes?: readonly SettleLane[] };
  const words = lanes.map(({ mode, trouble, ended = [] }) => {
    const states = [...new Set(ended.map(({ state }) => state))].sort().join(', ');
    return [mode, trouble === undefined ? '' : ` ${trouble}`, states === '' ? '' : `: ${states}`].join('');
  });
  return [...new Set(words)].sort().join(' + ');
}
