/** The most answers kept. */
const MOST = 20;

const answers = new Map<string, unknown>();

/** Caches a view's last answer, so that it can be shown at once when the visitor returns to it. The oldest ones are dropped. */
export function keep(view: string, answer: unknown): void {
  answers.delete(view);
  answers.set(view, answer);
  const [oldest] = answers.keys();
  if (answers.size > MOST && oldest !== undefined) answers.delete(oldest);
}

export function kept(view: string): unknown {
  return answers.get(view);
}
