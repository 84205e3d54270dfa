import { defineConfig } from 'vitest/config';

const architecture = 'packages/comanda/test/architecture/**/*.test.ts';
const unit = 'packages/*/src/**/*.test.ts';

export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    reporters: ['./scripts/summary-reporter.mjs'],
    projects: [
      // Only the tests that need a database wait for one: `vitest run --project unit` starts none.
      { extends: true, test: { name: 'architecture', include: [architecture] } },
      { extends: true, test: { name: 'unit', include: [unit] } },
      {
        extends: true,
        test: {
          name: 'database',
          include: [
            'packages/*/test/**/*.test.ts',
            'test-support/**/*.test.ts',
            'examples/**/*.test.ts',
            'proof/test/**/*.test.ts',
          ],
          exclude: ['**/node_modules/**', '**/dist/**', architecture],
          globalSetup: ['./test-support/src/vitest-global-setup.ts'],
        },
      },
    ],
  },
});
