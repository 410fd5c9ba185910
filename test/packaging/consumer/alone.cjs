// Loads each file of each package as the first of all: files that need each other would fail in some order.
const { readdirSync } = require("node:fs");
const { join } = require("node:path");

const packages = join(__dirname, "node_modules/@headgate");
const isOurs = (file) => file.includes("@headgate");
for (const name of readdirSync(packages)) {
  const files = readdirSync(join(packages, name), { recursive: true });
  for (const file of files.filter((file) => file.endsWith(".cjs"))) {
    for (const loaded of Object.keys(require.cache).filter(isOurs)) delete require.cache[loaded];
    require(join(packages, name, file));
  }
}
