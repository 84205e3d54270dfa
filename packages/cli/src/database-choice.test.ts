import { userInfo } from 'node:os';
import { describe, expect, test } from 'vitest';
import { chooseDatabase, readUrl } from './database-choice.js';

const read = (text: string, env: Record<string, string> = {}) => readUrl(text, '--database-url', env);

describe('a URL', () => {
  test('is shown without login and password', () => {
    expect(read('postgresql://me:s3cret@db.example:6000/shop')).toEqual({
      url: 'postgresql://me:s3cret@db.example:6000/shop',
      shown: 'db.example:6000/shop',
    });
  });

  test('gets the parts that the driver would look for elsewhere', () => {
    const { url, shown } = read('postgres://db.example/shop');
    expect(shown).toBe('db.example:5432/shop');
    expect(Object.fromEntries(new URL(url).searchParams)).toEqual({ port: '5432', user: userInfo().username });
  });

  test.each([
    ['postgresql:///shop?host=/run/postgresql', '/run/postgresql/shop'],
    ['postgresql://me@/shop?host=/run/postgresql', '/run/postgresql/shop'],
    ['postgresql://me@%2Frun%2Fpostgresql/shop', '/run/postgresql/shop'],
    ['postgresql://me@[::1]:1/shop', '[::1]:1/shop'],
    ['postgresql://me@h/caf%C3%A9', 'h:5432/café'],
  ])('%s is %s', (text, shown) => {
    expect(read(text).shown).toBe(shown);
  });

  test.each([
    '',
    'shop',
    'host=db dbname=shop password=s3cret',
    'mysql://me:s3cret@db/shop',
    'postgresql://me:s3cret@db',
    'postgresql://me:s3cret@db/',
    'postgresql:///shop',
  ])('%j is refused without being repeated', (text) => {
    const refusal = (): unknown => read(text);
    expect(refusal).toThrow(/connection URL|names no (host|database)/);
    expect(refusal).not.toThrow(/s3cret/);
  });

  test('can come from a variable that is named', () => {
    expect(read('env:SHOP_DB', { SHOP_DB: 'postgresql://me@h/shop' }).shown).toBe('h:5432/shop');
    expect(() => read('env:SHOP_DB', { DATABASE_URL: 'postgresql://me@h/other' })).toThrow(/SHOP_DB, which is not set/);
    expect(() => read('env:SHOP_DB', { SHOP_DB: 'x:s3cret' })).toThrow('the variable SHOP_DB holds no connection URL');
  });
});

describe('the choice', () => {
  test('is never made by a variable of the shell', () => {
    const env = {
      PGHOST: 'h',
      PGDATABASE: 'd',
      DATABASE_URL: 'postgresql://h/d',
      COMANDA_DATABASE_URL: 'postgresql://h/d',
    };
    expect(() => chooseDatabase({}, env)).toThrow(/No database is named\. Add --database-url URL.*env:NAME.*--dev/);
  });

  test('is one database', () => {
    expect(() => chooseDatabase({ databaseUrl: 'postgresql://h/d', dev: true }, {})).toThrow(/Two databases are named/);
    expect(() => chooseDatabase({ dataDir: 'x' }, {})).toThrow(/--data-dir names a folder of --dev/);
  });

  test('is repeated in suggestions only when that shows no secret', () => {
    const env = { DB: 'postgresql://me:s3cret@h/d' };
    expect(chooseDatabase({ databaseUrl: 'env:DB' }, env).flags).toBe('--database-url env:DB');
    expect(chooseDatabase({ databaseUrl: 'postgresql://me:s3cret@h/d' }, env).flags).toBe('');
  });
});
