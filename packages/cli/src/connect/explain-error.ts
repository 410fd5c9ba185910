import { messageOf } from "../command/command-error.ts";

/** The explanation of an error, with the next step for the user. */
type Explanation = string | ((match: RegExpExecArray) => string);

/** Explanations by the error code of Node. */
const BY_CODE: readonly (readonly [code: RegExp, explanation: Explanation])[] = [
  [/^ECONNREFUSED$/, "nothing listens there: start Redis, or check host and port"],
  [/^(ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/, "there is no such host: check its name"],
  [/^ENOENT$/, "there is no such socket: check the path, and `unixsocket` of the server"],
  [/^EACCES$/, "you may not open the socket: check its owner, and `unixsocketperm` of the server"],
  [/^(EHOSTUNREACH|ENETUNREACH)$/, "there is no route to it: check the host, and the VPN"],
  [
    /^ETIMEDOUT$/,
    "it does not answer: check host, port and firewall, or wait longer with --timeout",
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT.*|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/,
    "its certificate is signed by an unknown authority: give the CA certificate with --cacert FILE",
  ],
  [/^CERT_HAS_EXPIRED$/, "its certificate has expired: renew it, or check this machine's clock"],
  [/^CERT_NOT_YET_VALID$/, "its certificate is not valid yet: check this machine's clock"],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    "its certificate is for another host: use a host name that the certificate has",
  ],
  [
    /^ERR_SSL_.*(WRONG_VERSION_NUMBER|PACKET_LENGTH|UNKNOWN_PROTOCOL|RECORD_OVERFLOW)/,
    "it does not use TLS on this port: use redis://, or the TLS port",
  ],
  [
    /^ERR_SSL_.*(CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|BAD_CERTIFICATE|UNKNOWN_CA)/,
    "it requires a client certificate: give one with --cert FILE and --key FILE",
  ],
  [
    /^(ERR_SSL|ERR_TLS|ERR_OSSL|EPROTO)/,
    "TLS fails: check the certificates, and the versions of TLS",
  ],
  [/^(ECONNRESET|EPIPE)$/, "it closes the connection: if it requires TLS, use rediss://"],
];

/** Explanations by the message of a server or a client. Servers agree on the first words only. */
const BY_MESSAGE: readonly (readonly [words: RegExp, explanation: Explanation])[] = [
  [
    /^NOAUTH/,
    "it requires a password: give it with --password-stdin, in REDISCLI_AUTH, or in the URL of a --redis-file",
  ],
  [/^WRONGPASS/, "the user or the password is wrong: check both"],
  [
    /NOPERM.*channel/,
    "this user may not use a required channel: headgate doctor --as USER prints the permissions to grant",
  ],
  [
    /(?:NOPERM|ACL failure|can't run this command).*?'([\w|]+)' command/s,
    ([, command]) =>
      `this user may not run ${command?.toUpperCase()}: an administrator can allow it with ACL SETUSER ... +${command}`,
  ],
  [
    /(NOPERM|ACL failure|can't access).*(key|pattern)/is,
    "this user may not access keys with this prefix: check --prefix, or ask an administrator for ACL SETUSER ... ~PREFIX:*",
  ],
  [/NOPERM|can't run this command/, "this user lacks permissions: headgate doctor prints which"],
  [/LOADING/, "it is still loading its data: try again in a moment"],
  [/MASTERDOWN/, "it is a replica that has lost its primary: connect to the primary"],
  [/READONLY/, "it is a read-only replica: connect to the primary"],
  [
    /^DENIED|protected mode/,
    "its protected mode refuses other machines: set a password on the server, or run this command there",
  ],
  [/CLUSTERDOWN/, "the cluster is down: check CLUSTER INFO and CLUSTER NODES"],
  [/max number of clients/, "it accepts no more connections: raise maxclients, or close some"],
  [/^ERR (DB index|invalid DB)/, "it has no database with this number: check the end of the URL"],
  [/^(MOVED|ASK) /, "it belongs to a cluster: use --cluster"],
  [/BUSY /, "it is busy with a script: wait, or kill the script with SCRIPT KILL"],
  [/OOM /, "its memory is full: raise maxmemory, or free memory"],
  [/MISCONF/, "it cannot save its data, and refuses writes: check its log"],
  [
    /timed out|did not answer within/i,
    "it does not answer: check host, port and firewall, or wait longer with --timeout",
  ],
  [/^(Protocol error|Unknown RESP type)/, "the server there is not Redis: check host and port"],
  [/Connection is closed/, "it closes the connection: if it requires TLS, use rediss://"],
];

/** A server without TLS takes the handshake for the beginning of a command, and waits for the rest. */
const NO_REPLY_OVER_TLS =
  "it does not answer over TLS: use redis:// if this port has no TLS, check host, port and firewall, or wait longer with --timeout";

/**
 * Explains an error in one line, with the next step. Never contains credentials, although some servers quote the user. An unknown
 * error keeps its own message.
 */
export function explainError(error: unknown, isTls = false): string {
  const { code = "" } = (error ?? {}) as NodeJS.ErrnoException;
  if (isTls && code === "ETIMEDOUT") return NO_REPLY_OVER_TLS;
  const message = messageOf(error);
  return (
    explainFirstMatch(BY_CODE, String(code)) ??
    explainFirstMatch(BY_MESSAGE, message) ??
    message
      .replace(/, with args beginning with:.*/gs, "")
      .replace(/\buser '?[^\s']+'?/gi, "this user")
      .replace(/\s+/g, " ")
  );
}

function explainFirstMatch(
  explanations: readonly (readonly [RegExp, Explanation])[],
  text: string,
): string | undefined {
  for (const [pattern, explanation] of explanations) {
    const match = pattern.exec(text);
    if (match === null) continue;
    return typeof explanation === "string" ? explanation : explanation(match);
  }
  return undefined;
}

/** Whether an error comes from the Redis client: an error reply, or a connection error. */
export function isRedisError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (
    error.name === "ReplyError" ||
    /^(Connection is closed|Command timed out|Cluster is |Failed to refresh slots)/.test(
      error.message,
    )
  );
}
