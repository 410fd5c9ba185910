import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import type { HttpResponse } from "./http-exchange.ts";
import { SECURITY_HEADERS } from "./http-exchange.ts";

/** A file of the page, with its compressed forms. */
interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly br: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The folders where the page may be, relative to a source file, to a file of the package, or to a chunk in it. */
const PAGE_DIRECTORIES = ["page", "../page", "../dist/page", "../../dist/page"];

/** The files of the page. They are read once and looked up in a map, so that no path leads out of the folder. */
export class PageFiles {
  readonly #directory: string | undefined;
  #files: ReadonlyMap<string, PageFile> | undefined;

  constructor(directory: string | undefined) {
    this.#directory = directory;
  }

  /** The response for a file by its path, such as `assets/index-1a2b.js`; undefined if there is none. */
  respond(
    path: string,
    acceptEncoding: string | undefined,
    ifNoneMatch: string | undefined,
  ): HttpResponse | undefined {
    const file = this.#read().get(path);
    if (file === undefined) return undefined;
    const headers = {
      ...SECURITY_HEADERS,
      "content-type": file.type,
      "cache-control": cacheControlOf(path),
      etag: file.etag,
      vary: "Accept-Encoding",
    };
    if (ifNoneMatch === file.etag) return { status: 304, headers, body: "" };
    const [encoding, body] = chooseEncoding(file, acceptEncoding);
    return {
      status: 200,
      headers: encoding === "" ? headers : { ...headers, "content-encoding": encoding },
      body,
    };
  }

  #read(): ReadonlyMap<string, PageFile> {
    if (this.#files !== undefined) return this.#files;
    const directory = this.#directory ?? findDirectory();
    const files = readFiles(directory);
    // If the page is not built yet, the next request reads the folder again.
    if (files.has("index.html")) this.#files = files;
    return files;
  }
}

function findDirectory(): string | undefined {
  const here = ownDirectory();
  if (here === undefined) return undefined;
  const candidates = PAGE_DIRECTORIES.map((path) => join(here, path));
  return candidates.find((path) => existsSync(join(path, "index.html")));
}

/** The directory of this file; undefined if a bundler has put it into a module without such a path. */
function ownDirectory(): string | undefined {
  try {
    return import.meta.dirname;
  } catch {
    return undefined;
  }
}

function readFiles(directory: string | undefined): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  if (directory === undefined || !existsSync(directory)) return files;
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const names = new Set(
    entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(directory, join(parentPath, name))),
  );
  const read = (name: string): Buffer | undefined =>
    names.has(name) ? readFileSync(join(directory, name)) : undefined;
  for (const name of names) {
    const type = CONTENT_TYPES[extname(name)];
    if (type === undefined) continue;
    const plain = readFileSync(join(directory, name));
    const hash = createHash("sha256").update(plain).digest("base64url").slice(0, 22);
    files.set(name.replaceAll("\\", "/"), {
      type,
      etag: `W/"${hash}"`,
      plain,
      br: read(`${name}.br`),
      gzip: read(`${name}.gz`),
    });
  }
  return files;
}

/** A file in `assets` has its hash in its name, and slash.js is the same in every version. */
function cacheControlOf(path: string): string {
  if (path.startsWith("assets/")) return "public, max-age=31536000, immutable";
  return path === "slash.js" ? "public, max-age=86400" : "no-cache";
}

/** The smallest encoding that the client accepts. */
function chooseEncoding(
  { plain, br, gzip }: PageFile,
  acceptEncoding = "",
): readonly [encoding: string, body: Buffer] {
  if (br !== undefined && accepts(acceptEncoding, "br")) return ["br", br];
  if (gzip !== undefined && accepts(acceptEncoding, "gzip")) return ["gzip", gzip];
  return ["", plain];
}

function accepts(acceptEncoding: string, encoding: string): boolean {
  return acceptEncoding.split(",").some((one) => {
    const [name = "", ...rest] = one.split(";").map((part) => part.trim().toLowerCase());
    return name === encoding && !rest.some((part) => /^q=0(?:\.0*)?$/.test(part));
  });
}
