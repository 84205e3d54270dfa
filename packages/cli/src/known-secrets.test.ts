import { expect, test } from 'vitest';
import { knownSecrets } from './known-secrets.js';

test('passwords of URLs, variables called like secrets, and whatever a configuration reads', () => {
  const env = {
    STRIPE_KEY: 'sk_live_1234',
    MODE_KEY: 'prod',
    HOME: '/home/ana',
    QUEUE_URL: 'amqp://shop:hunter22@mq/',
    PLAIN: 'read by the file',
  };
  const secrets = knownSecrets(env, ['postgresql://app:p%40ss-word@db/shop']);
  expect(secrets.env['PLAIN']).toBe('read by the file');
  expect(secrets.values().sort()).toEqual(
    [
      'postgresql://app:p%40ss-word@db/shop',
      'p%40ss-word',
      'p@ss-word',
      'sk_live_1234',
      'hunter22',
      'read by the file',
    ].sort(),
  );
});
