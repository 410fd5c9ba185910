// With DEBUG set, ioredis prints every command, including AUTH with its password. It reads the variable while it loads, so this module
// must be imported before it.
delete process.env["DEBUG"];
