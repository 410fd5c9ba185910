/** The maximum number of cached views. */
const MAX_VIEWS = 20;

const views = new Map<string, unknown>();

/** Caches a view's last response, to be shown at once when the visitor returns to it. A new view replaces the oldest. */
export function cacheView(view: string, response: unknown): void {
  views.delete(view);
  views.set(view, response);
  const [oldest] = views.keys();
  if (views.size > MAX_VIEWS && oldest !== undefined) views.delete(oldest);
}

export function cachedView(view: string): unknown {
  return views.get(view);
}
