/**
 * The shop's own tables. They know nothing of Comanda: what the shop decides to have done elsewhere is in the schema
 * `comanda` of the same database, so that one transaction can hold both.
 */
export const SHOP_SCHEMA = `
create schema shop;

create table shop.orders (
  id text primary key,
  customer text not null,
  email text not null,
  total numeric(12, 2) not null,
  currency text not null,
  status text not null default 'received' check (status in ('received', 'refunded')),
  version int not null default 1,
  received_at timestamptz not null default now()
);

create table shop.stock (
  sku text primary key,
  on_hand int not null default 0,
  moves bigint not null default 0
);

-- The n-th movement of an article. Its number is drawn under the article's row lock: their order is the order of commits.
create table shop.stock_move (
  sku text not null references shop.stock,
  n bigint not null,
  order_id text not null references shop.orders,
  quantity int not null,
  primary key (sku, n),
  unique (order_id, sku)
);
`;
