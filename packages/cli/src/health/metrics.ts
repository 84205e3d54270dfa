/** A row of `comanda.gauges`. */
export interface Gauge {
  readonly name: string;
  readonly label: string;
  readonly value: number;
}

/** The text format of Prometheus, version 0.0.4. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Gauges as `comanda_<name>{label="…"}`. */
export function metricsText(gauges: readonly Gauge[]): string {
  const names = [...new Set(gauges.map(({ name }) => name))].filter((name) => /^[a-z][a-z0-9_]*$/.test(name));
  return names
    .flatMap((name) => [
      `# TYPE comanda_${name} gauge`,
      ...gauges
        .filter((gauge) => gauge.name === name)
        .map(({ label, value }) => `comanda_${name}${label === '' ? '' : `{label="${escaped(label)}"}`} ${value}`),
    ])
    .map((line) => `${line}\n`)
    .join('');
}

/** Label values escape backslash, quote and line feed; other controls have no business in a line. */
function escaped(label: string): string {
  return label
    .replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, '')
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n');
}
