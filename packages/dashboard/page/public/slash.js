// Relative URLs need the slash at the end of the page's path, and only the browser knows that path: proxies change what the server sees.
if (!/\/$|\.html$/.test(location.pathname)) {
  const url = new URL(location.href);
  url.pathname += "/";
  location.replace(url);
}
