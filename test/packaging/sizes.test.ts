import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript5";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

/** Lines of a file, comments and empty ones included. */
const MOST_OF_A_FILE = 250;

/**
 * Lines of a function, from its head to its end. The functions, methods and accessors that are declared in it count for themselves:
 * a function that makes an object of them is read like a class.
 */
const MOST_OF_A_FUNCTION = 60;

const linesIn = (text: string): number => text.trimEnd().split("\n").length;

/** The functions of a file that are too long, as "name: lines". */
function longFunctions(text: string): readonly string[] {
  const file = ts.createSourceFile("any.ts", text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  /** Visits the functions in a node, and returns the lines of those that are declared there. */
  const visit = (node: ts.Node): number => {
    let declared = 0;
    ts.forEachChild(node, (child) => {
      declared += visit(child);
    });
    if (!ts.isFunctionLike(node)) return declared;
    const lines = linesIn(node.getText(file));
    const own = lines - declared;
    if (own > MOST_OF_A_FUNCTION) found.push(`${nameOf(node)}: ${own} lines`);
    return isDeclared(node) ? lines : declared;
  };
  visit(file);
  return found;
}

function isDeclared(node: ts.Node): boolean {
  return ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isAccessor(node);
}

/** The name of a function, or of the variable or property that it is the value of. */
function nameOf(node: ts.SignatureDeclaration): string {
  if (node.name !== undefined) return node.name.getText();
  const { name } = node.parent as { readonly name?: ts.Node };
  return name?.getText() ?? node.getText().slice(0, 40);
}

/** The sources that are written by hand, of all packages. */
const sources = readdirSync(join(root, "packages")).flatMap((name) =>
  readdirSync(join(root, "packages", name, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/\.(?:test|generated)\.ts$/.test(file))
    .map((file) => join("packages", name, "src", file)),
);

const textOf = (file: string): string => readFileSync(join(root, file), "utf8");

describe("sources can be read in one go", () => {
  test(`no file is longer than ${MOST_OF_A_FILE} lines`, () => {
    expect(sources.length).toBeGreaterThan(300);
    const long = sources
      .map((file) => ({ file, lines: linesIn(textOf(file)) }))
      .filter(({ lines }) => lines > MOST_OF_A_FILE)
      .map(({ file, lines }) => `${file}: ${lines} lines`);
    expect(long).toEqual([]);
  });

  test(`no function is longer than ${MOST_OF_A_FUNCTION} lines`, () => {
    const long = sources.flatMap((file) =>
      longFunctions(textOf(file)).map((found) => `${file}, ${found}`),
    );
    expect(long).toEqual([]);
  });

  test.each([
    ["a function", "function long() {", "}", "long"],
    ["a method", "class Any { async long() {", "}}", "long"],
    ["an accessor", "class Any { get long() {", "return 1 }}", "long"],
    ["an arrow function", "const long = () => {", "};", "long"],
    ["what is written in a call", "export function long() { return call(() => {", "});}", "long"],
    ["a function in one that is short", "function short() { function long() {", "}}", "long"],
  ])("%s that is too long is found", (_, begin, end, name) => {
    const withLines = (lines: number) =>
      `/** ${"\n".repeat(99)}*/\n${begin}${"\n".repeat(lines - 1)}${end}`;
    expect(longFunctions(withLines(MOST_OF_A_FUNCTION))).toEqual([]);
    expect(longFunctions(withLines(MOST_OF_A_FUNCTION + 1))).toContain(`${name}: 61 lines`);
  });

  test("functions that are declared in another one are no lines of it", () => {
    const inner = `get()\n{${"\n".repeat(50)}}`;
    expect(longFunctions(`function outer() { return { ${inner}, ${inner} } }`)).toEqual([]);
  });
});
