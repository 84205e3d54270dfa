import type { Reader } from 'comanda/internal';
import { EXIT } from './exit-codes.js';
import { CliError, usage } from './failure.js';

/**
 * The effects that a word names. Digits are an identifier first: a decision whose key is a number can be named as `KEY/NAME`.
 *
 * @throws CliError when there are none
 */
export async function findEffects(
  reader: Reader,
  word: string,
  suggest: (command: string) => string,
): Promise<readonly string[]> {
  const found = await reader.find(word);
  const byId = found.filter(({ matched }) => matched === 'id');
  const ids = [...new Set((byId.length > 0 ? byId : found).map(({ effect_id }) => effect_id))];
  if (ids.length === 0) {
    throw new CliError(
      'CLI_NOT_FOUND',
      EXIT.notFound,
      `No effect is known under ${word}: neither as an identifier, nor as a key, nor as KEY/NAME. See what there is: ${suggest('comanda effects list')}.`,
    );
  }
  return ids;
}

/** As {@link findEffects}, for acts: exactly one effect. */
export async function findOneEffect(
  reader: Reader,
  word: string,
  suggest: (command: string) => string,
): Promise<string> {
  const ids = await findEffects(reader, word, suggest);
  const [id] = ids;
  if (id === undefined || ids.length > 1) {
    throw usage(
      `${word} names ${ids.length} effects. Name one of them by its identifier: ${ids.slice(0, 10).join(', ')}.`,
    );
  }
  return id;
}
