// With DEBUG set, ioredis prints every command, also AUTH with its password. It reads the variable when it is loaded, so this is
// imported before.
delete process.env["DEBUG"];
