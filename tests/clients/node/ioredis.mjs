// ioredis against a server: node ioredis.mjs PACKAGE SCENARIO HOST PORT PROTOCOL
// Ends with status 0 if everything was as ioredis's users know it from Redis.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { binaries, told } from "./values.mjs";

const [name, scenario, host, port, protocol] = process.argv.slice(2);
const { default: Redis } = await import(name);
const resp3 = protocol === "3";
const connection = { host, port: Number(port), ...(resp3 && { protocol: 3, replyMapping: "resp3" }) };
if (name === "ioredis") connection.protocol = Number(protocol);
const numbered = (count) => Array.from({ length: count }, (_, i) => i + 1);
// A map of RESP3 is an object, in RESP2 its keys and values come in turn.
const pairs = (object) => (resp3 ? object : Object.entries(object).flat());

async function connecting(client) {
  await once(client, "ready"); // it has read `loading` in INFO
  match(await client.client("INFO"), new RegExp(` name=me .* db=2 .* resp=${protocol} lib-name=ioredis `));
  match(await client.info("server"), /^redis_version:7\.2\.\d+\r$/m);
  equal(await client.ping("hello"), "hello");
}

async function strings(client) {
  for (const value of binaries) {
    equal(await client.set("key", value), "OK");
    deepEqual(await client.getBuffer("key"), value);
    deepEqual(await client.mgetBuffer("key", "nosuch"), [value, null]);
  }
  equal(await client.set("key", "new", "EX", 100, "GET", "NX"), binaries.at(-1).toString());
  equal(await client.set("other", "ü", "PX", 100_000, "NX"), "OK");
  equal(await client.set("other", "x", "NX"), null);
  equal(await client.get("other"), "ü");
  equal(await client.mset({ number: 1, float: 2.5, text: "ohmytext" }), "OK");
  equal(await client.incrby("number", 41), 42);
  equal(await client.incrbyfloat("float", 0.25), "2.75");
  equal(await client.append("text", "!"), 9);
  equal(await client.getrange("text", -5, -2), "text");
  equal(await client.setrange("text", 10, "?"), 11);
  equal(await client.getdel("text"), "ohmytext!\0?");
  await client.mset("a", "ohmytext", "b", "mynewtext");
  equal(await client.lcs("a", "b"), "mytext");
  const matches = [[[4, 7], [5, 8], 4], [[2, 3], [0, 1], 2]];
  deepEqual(await client.lcs("a", "b", "IDX", "WITHMATCHLEN"), pairs({ matches, len: 6 }));
  equal(await client.incr("number", (error, reply) => equal(reply, 43)), 43);
}

async function keys(client) {
  await client.flushdb();
  await client.mset(Object.fromEntries(numbered(500).map((i) => [`key:${i}`, i])));
  const found = new Set();
  for await (const some of client.scanStream({ match: "key:*", count: 50 })) some.forEach((key) => found.add(key));
  equal(found.size, 500);
  equal(await client.dbsize(), 500);
  equal(await client.expire("key:1", 100), 1);
  equal(await client.ttl("key:1"), 100);
  equal(await client.persist("key:1"), 1);
  equal(await client.type("key:1"), "string");
  equal(await client.object("ENCODING", "key:1"), "int");
  equal(await client.rename("key:1", "renamed"), "OK");
  equal(await client.copy("renamed", "copied"), 1);
  equal(await client.exists("renamed", "copied", "key:1"), 2);
  equal(await client.restore("restored", 0, await client.dumpBuffer("renamed")), "OK");
  equal(await client.get("restored"), "1");
  equal(await client.unlink("renamed", "copied", "nosuch"), 2);
  deepEqual(await client.config("GET", "maxmemory"), pairs({ maxmemory: "0" }));
}

async function bits(client) {
  equal(await client.setbit("bits", 7, 1), 0);
  equal(await client.getbit("bits", 7), 1);
  equal(await client.bitcount("bits", 0, -1, "BIT"), 1);
  equal(await client.bitpos("bits", 1), 7);
  equal(await client.bitop("NOT", "inverted", "bits"), 1);
  deepEqual(await client.getBuffer("inverted"), Buffer.from([0xfe]));
  const operations = ["INCRBY", "u8", 0, 300, "OVERFLOW", "FAIL", "INCRBY", "u8", 0, 300, "GET", "u8", 0];
  deepEqual(await client.bitfield("bits", ...operations), [45, null, 45]);
}

async function errors(client) {
  await client.set("text", "some");
  const refused = (message) => ({ name: "ReplyError", message });
  await rejects(client.incr("text"), refused("ERR value is not an integer or out of range"));
  await rejects(client.call("NOSUCH", "a"), refused("ERR unknown command 'NOSUCH', with args beginning with: 'a' "));
  await rejects(client.call("GET"), refused("ERR wrong number of arguments for 'get' command"));
  equal(await client.get("text"), "some"); // and the connection is as it was
}

async function pipelines(client) {
  const pipeline = client.pipeline().set("counter", 0).set("text", "some");
  for (let i = 0; i < 1000; i++) pipeline.incr("counter");
  pipeline.incr("text").get("counter").getBuffer("text");
  const replies = await pipeline.exec();
  deepEqual(replies.slice(2, 1002), numbered(1000).map((i) => [null, i]));
  equal(replies[1002][0].message, "ERR value is not an integer or out of range");
  deepEqual(replies.slice(1003), [[null, "1000"], [null, Buffer.from("some")]]);
  const many = client.pipeline();
  for (let i = 0; i < 10; i++) many.set(`large:${i}`, binaries.at(-1)).getBuffer(`large:${i}`);
  for (const [error, reply] of await many.exec()) ok(!error && (reply === "OK" || reply.equals(binaries.at(-1))));
  await client.flushdb();

  const together = client.duplicate({ enableAutoPipelining: true });
  deepEqual(await Promise.all(numbered(200).map(() => together.incr("n"))), numbered(200));
  await together.quit();
}

async function monitoring(client) {
  const monitor = await client.monitor();
  const seen = once(monitor, "monitor");
  await client.set("watched", 'a "quoted" word');
  const [time, words, source, database] = await seen;
  ok(Math.abs(Number(time) - Date.now() / 1000) < 60);
  deepEqual(words.map(String), ["set", "watched", 'a "quoted" word']);
  match(source, /^127\.0\.0\.1:\d+$/);
  equal(database, "2");
  monitor.disconnect();
}

async function session() {
  const client = new Redis({ ...connection, db: 2, connectionName: "me" });
  for (const part of [connecting, strings, keys, bits, errors, pipelines, monitoring]) await part(client);
  await client.flushdb();
  equal(await client.quit(), "OK");
}

async function restart() {
  const client = new Redis({ ...connection, db: 2, retryStrategy: () => 50, maxRetriesPerRequest: null });
  const refused = new Promise((resolve) => client.on("error", ({ code }) => code === "ECONNREFUSED" && resolve()));
  equal(await client.set("before", 1), "OK");
  console.log("ready");
  await refused; // the server is away
  const waiting = client.set("meanwhile", 1); // kept until there is a server again
  await told();
  equal(await waiting, "OK");
  equal(await client.exists("before"), 0); // another server
  match(await client.client("INFO"), new RegExp(` db=2 .*resp=${protocol} `)); // as it was set up before
  await client.quit();
}

async function cluster() {
  const { host: _host, port: _port, ...redisOptions } = connection;
  const client = new Redis.Cluster([{ host, port: Number(port) }], { redisOptions });
  await once(client, "ready");
  deepEqual(client.nodes("master").map(({ options }) => `${options.host}:${options.port}`), [`${host}:${port}`]);
  for (let i = 0; i < 100; i++) equal(await client.set(`key:${i}`, binaries[2]), "OK");
  deepEqual(await client.getBuffer("key:7"), binaries[2]);
  equal(await client.del("{tag}a", "{tag}b"), 0);
  const replies = await client.pipeline().incr("{tag}n").incr("{tag}n").get("{tag}n").exec();
  deepEqual(replies, [[null, 1], [null, 2], [null, "2"]]);
  await rejects(client.incr("key:7"), { name: "ReplyError", message: "ERR value is not an integer or out of range" });
  equal(await client.nodes("master")[0].dbsize(), 101);
  await client.nodes("master")[0].flushall();
  await client.quit();
}

await { session, restart, cluster }[scenario]();
process.exit(); // the parser of ioredis 5 stays for seconds, until its buffers have shrunk
