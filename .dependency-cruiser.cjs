// The layers of packages/comanda as build errors. Type-only imports count for the layers (a layer that needs a type of
// another one depends on it) but not for cycles, which are a matter of module evaluation.
const src = '^packages/comanda/src';
const domain =
  '(schema|decide|ledger|outbox|reconcile|controls|approvals|feed|inbox|projections|audit|retention|observe)';
const isTest = '[.]test[.]ts$';
const workspace = '(packages/[^/]+|test-support|bench|proof|examples/[^/]+|e2e)';
const foreign = (...allowed) => `${src}/(?!(${allowed.join('|')})(/|[.]ts$))`;

/** A driver may be imported by the one folder that owns it. */
const driver = (name, owner) => ({
  name: `driver-${name}`,
  comment: `Only ${owner} may know the package "${name}".`,
  severity: 'error',
  from: { path: src, pathNot: [`${src}/${owner}/`, isTest] },
  to: { path: `(^|/)node_modules/(@types/)?${name}/` },
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Modules that need each other at run time are one idea in two files, or two ideas tangled.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'kernel-is-pure',
      comment: 'The kernel imports nothing but itself and Node.',
      severity: 'error',
      from: { path: `${src}/kernel/`, pathNot: isTest },
      to: { path: foreign('kernel') },
    },
    {
      name: 'ports-are-interfaces',
      comment: 'Ports know the kernel and each other.',
      severity: 'error',
      from: { path: `${src}/ports/`, pathNot: isTest },
      to: { path: foreign('kernel', 'ports') },
    },
    {
      name: 'domains-meet-in-the-database',
      comment:
        'A domain folder knows kernel, ports, the embedded SQL and itself. Domains meet in the database or in a port.',
      severity: 'error',
      from: { path: `${src}/${domain}/`, pathNot: isTest },
      to: { path: `${src}/(?!(kernel|ports|generated|$1)/)` },
    },
    {
      name: 'relay-knows-no-edge',
      comment: 'The relay reaches transports and databases through ports only.',
      severity: 'error',
      from: { path: `${src}/relay/`, pathNot: isTest },
      to: { path: foreign('kernel', 'ports', 'generated', 'relay', domain) },
    },
    {
      name: 'edges-know-kernel-and-ports',
      comment: 'A transport that cannot import a database cannot hold a lock while it waits.',
      severity: 'error',
      from: { path: `${src}/(adapters|transports|publishers|sources|agents)/`, pathNot: isTest },
      to: { path: `${src}/(?!(kernel|ports|$1)/)` },
    },
    {
      name: 'edges-do-not-know-each-other',
      comment: 'Adding an adapter or a transport touches its own folder only.',
      severity: 'error',
      from: { path: `${src}/(adapters|transports|publishers|sources|agents)/([^/]+)/`, pathNot: isTest },
      to: { path: `${src}/(adapters|transports|publishers|sources|agents)/[^/]+/`, pathNot: `${src}/$1/$2/` },
    },
    {
      name: 'generated-is-a-leaf',
      severity: 'error',
      from: { path: `${src}/generated/` },
      to: { path: `${src}/(?!generated/)` },
    },
    {
      name: 'product-does-not-know-its-tests',
      comment: 'Neither test files nor the conformance suites are part of what the product runs.',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: [isTest, `${src}/testing/`] },
      to: { path: [`${src}/testing/`, isTest, '^packages/[^/]+/test/', '^test-support/'] },
    },
    driver('pg', 'adapters/pg'),
    driver('postgres', 'adapters/postgres'),
    driver('drizzle-orm', 'adapters/drizzle'),
    driver('undici', 'transports/http'),
    driver('nodemailer', 'transports/smtp'),
    {
      name: 'library-has-no-dependencies',
      comment: 'packages/comanda has no hard dependency; drivers are optional peers.',
      severity: 'error',
      from: { path: src, pathNot: isTest },
      to: {
        path: '(^|/)node_modules/',
        pathNot: '(^|/)node_modules/(@types/)?(drizzle-orm|node|nodemailer|pg|postgres|undici|undici-types)/',
      },
    },
    {
      name: 'main-door-loads-no-driver',
      comment: 'import "comanda" and "comanda/relay" work where no driver is installed.',
      severity: 'error',
      from: { path: [`${src}/index[.]ts$`, `${src}/relay/index[.]ts$`] },
      to: { path: '(^|/)node_modules/(@types/)?(nodemailer|pg|postgres|undici)/', reachable: true },
    },
    {
      name: 'packages-meet-at-their-doors',
      comment: 'Across workspaces import by package name; sources of another package are private.',
      severity: 'error',
      from: { path: `^${workspace}/` },
      to: { path: `^${workspace}/(src|test)/`, pathNot: '^$1/' },
    },
    {
      name: 'examples-use-public-doors',
      comment: '"comanda/internal" is for the command line and for tests; what an example needs, a user needs.',
      severity: 'error',
      from: { path: '^examples/', pathNot: isTest },
      to: { path: '^packages/comanda/dist/internal[.]' },
    },
    {
      name: 'everything-resolves',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: '(^|/)(node_modules|dist)/' },
    exclude: { path: '(^|/)(native|coverage)/' },
    tsConfig: { fileName: 'tsconfig.base.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'import', 'node', 'default'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.d.ts', '.json'],
    },
  },
};
