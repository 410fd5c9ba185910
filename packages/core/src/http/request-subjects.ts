import type { Verdict } from "./verdict.ts";

/** Who a request is counted as, by dimension; null where its limits are left out. */
export type RequestSubjects = Readonly<Record<string, string | null>>;

type SubjectsConstructor = new () => Record<string, string | null>;

/*
 * An object that inherits nothing, so that no dimension's name finds or changes anything but what was put there. One made by
 * `Object.create(null)` would do, but V8 keeps those as hash tables, ten times as slow to make and to read.
 */
const Subjects = function Subjects() {} as unknown as SubjectsConstructor;
Subjects.prototype = Object.create(null);

export function noSubjects(): Record<string, string | null> {
  return new Subjects();
}

/** Tells subjects from a verdict by what they are made of, not by their dimensions, which may have any name. */
export function areSubjects(value: RequestSubjects | Verdict): value is RequestSubjects {
  return value instanceof Subjects;
}
