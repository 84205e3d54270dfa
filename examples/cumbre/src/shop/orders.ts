import type { Random } from '../random.js';

/** An order that comes back, as the web shop reports it. */
export interface Order {
  /** e.g. `ORD-2041` */
  readonly id: string;
  readonly customer: string;
  readonly email: string;
  /** Digits with two decimals: money is no floating point number. */
  readonly total: string;
  readonly currency: string;
  /** One per article. */
  readonly lines: readonly OrderLine[];
}

export interface OrderLine {
  readonly sku: string;
  readonly quantity: number;
}

interface Article {
  readonly sku: string;
  readonly centavos: number;
}

export const CATALOG: readonly Article[] = [
  { sku: 'CF-ARA-500', centavos: 17_950 },
  { sku: 'CF-DEC-250', centavos: 12_400 },
  { sku: 'CF-ESP-1000', centavos: 33_900 },
  { sku: 'CF-OAX-500', centavos: 21_500 },
  { sku: 'CH-TAB-200', centavos: 8_900 },
  { sku: 'PR-FRA-1L', centavos: 64_900 },
  { sku: 'TE-CHM-100', centavos: 7_450 },
  { sku: 'TE-HBS-100', centavos: 6_900 },
  { sku: 'TE-MTC-050', centavos: 31_000 },
  { sku: 'TE-VRD-100', centavos: 9_250 },
];

const CUSTOMERS = ['Ana', 'Bruno', 'Carmen', 'Diego', 'Elena', 'Fermín', 'Graciela', 'Hugo', 'Inés', 'Joaquín'];
const FIRST = 2041;

/** Makes the shop's next order each time it is called. The same random numbers make the same orders. */
export function createOrders(random: Random): () => Order {
  let next = FIRST;
  return () => {
    const id = `ORD-${next}`;
    const customer = CUSTOMERS[Math.floor(random() * CUSTOMERS.length)] ?? 'Ana';
    const articles = pick(1 + Math.floor(random() * 3), random);
    const lines = articles.map(({ sku }) => ({ sku, quantity: 1 + Math.floor(random() * 12) }));
    const centavos = articles.reduce((sum, article, i) => sum + article.centavos * (lines[i]?.quantity ?? 0), 0);
    next += 1;
    return {
      id,
      customer,
      email: `${id.toLowerCase()}@example.com`,
      total: (centavos / 100).toFixed(2),
      currency: 'MXN',
      lines,
    };
  };
}

function pick(count: number, random: Random): readonly Article[] {
  const left = [...CATALOG];
  return Array.from({ length: count }, () => left.splice(Math.floor(random() * left.length), 1)[0]).filter(
    (article) => article !== undefined,
  );
}
