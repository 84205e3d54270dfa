import type { Mutation } from './mutation.js';
import { OF_SQL } from './mutations-sql.js';
import { OF_TYPESCRIPT } from './mutations-typescript.js';

/** Every mutation, in the order of the report. */
export const MUTATIONS: readonly Mutation[] = [...OF_SQL, ...OF_TYPESCRIPT];
