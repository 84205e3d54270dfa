-- #region grant
grant comanda_app to shop;            -- decides
grant comanda_relay to shop_relay;    -- executes
grant comanda_operator to ana;        -- skips, redrives, resolves, switches
grant comanda_reader to grafana;      -- looks
-- #endregion

-- #region timeout
alter role shop_relay set statement_timeout = '10s';
-- #endregion
