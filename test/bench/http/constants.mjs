/** Middleware of node:http that sends what a limiter would. */
export function sendConstants({ status, headers, body }) {
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    if (status === 200) return next();
    response.statusCode = status;
    response.end(body);
  };
}
