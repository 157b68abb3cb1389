// Values that a client may get wrong, or a server.

const allBytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

export const binaries = [
  Buffer.alloc(0),
  Buffer.from("\r\n$-1\r\n"),
  allBytes,
  Buffer.concat(Array(1 << 13).fill(allBytes)), // 2 MiB: more than any buffer between us holds
];

// Waits for a line on the standard input: whoever runs this has done its part.
export function told() {
  return new Promise((resolve) => process.stdin.once("data", resolve));
}
