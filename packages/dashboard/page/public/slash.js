// Relative URLs need a trailing slash in the page's path. Only the browser knows that path, because proxies may rewrite it.
if (!/\/$|\.html$/.test(location.pathname)) {
  const url = new URL(location.href);
  url.pathname += "/";
  location.replace(url);
}
