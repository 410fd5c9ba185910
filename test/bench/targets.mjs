export function printTargets() {}
