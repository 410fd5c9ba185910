// Prints what `require("@headgate/express")` loads: bytes of Headgate's files, and the packages and files of others.
const { statSync } = require("node:fs");

require("@headgate/express");
const files = Object.keys(require.cache);
const ours = files.filter((file) => file.includes("@headgate"));
const bytes = ours.reduce((sum, file) => sum + statSync(file).size, 0);
const others = files.filter((file) => !ours.includes(file) && file !== __filename);
console.log(JSON.stringify({ bytes, others }));
