export type { BookEntry, BookEvent } from './book.js';
export { readBook } from './book.js';
export type { Control, Fault } from './faults.js';
export type { ProviderHandle, ProviderStart, ProviderStats } from './start.js';
export { startGateway, startMail } from './start.js';
