-- #region adopt
select * from comanda.adopt('{"by": "ana", "reason": "moved to the new server"}');
-- #endregion
