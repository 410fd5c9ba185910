// ioredis shows every command it sends, AUTH with its password among them, to whoever sets DEBUG, as many machines do. It reads that as it
// is loaded, so this is imported before.
delete process.env["DEBUG"];
