// node-redis against a server: node node_redis.mjs PACKAGE SCENARIO HOST PORT PROTOCOL
// Ends with status 0 if everything was as node-redis's users know it from Redis. It rewrites many replies, and fails at
// those that have another shape.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { createClient, createCluster, RESP_TYPES } from "redis";
import { binaries, told } from "./values.mjs";

const [, scenario, host, port, protocol] = process.argv.slice(2);
const connection = { socket: { host, port: Number(port) }, RESP: Number(protocol) };
const inBytes = { [RESP_TYPES.BLOB_STRING]: Buffer };
const numbered = (count) => Array.from({ length: count }, (_, i) => i + 1);

async function connecting(client) {
  const mine = await client.clientInfo();
  deepEqual([mine.name, mine.db, mine.resp, mine.libName], ["me", 2, Number(protocol), "node-redis"]);
  const { version, ...rest } = await client.hello();
  const us = { server: "redis", proto: Number(protocol), id: mine.id, mode: "standalone", role: "master", modules: [] };
  deepEqual(rest, us);
  match(version, /^7\.2\.\d+$/);
  ok((await client.clientList()).some(({ id }) => id === mine.id));
  deepEqual({ ...(await client.clientTrackingInfo()) }, { flags: ["off"], redirect: -1, prefixes: [] });
  equal(await client.ping("hello"), "hello");
}

async function strings(client) {
  const bytes = client.withTypeMapping(inBytes);
  for (const value of binaries) {
    equal(await client.set("key", value), "OK");
    deepEqual(await bytes.get("key"), value);
    deepEqual(await bytes.mGet(["key", "nosuch"]), [value, null]);
  }
  const asNew = { expiration: { type: "EX", value: 100 }, condition: "NX" };
  deepEqual(await bytes.set("key", "new", { ...asNew, GET: true }), binaries.at(-1));
  equal(await client.set("other", "ü", asNew), "OK");
  equal(await client.set("other", "x", asNew), null);
  equal(await client.get("other"), "ü");
  equal(await client.mSet({ number: "1", float: "2.5", a: "ohmytext", b: "mynewtext" }), "OK");
  equal(await client.incrBy("number", 41), 42);
  equal(await client.incrByFloat("float", 0.25), "2.75");
  equal(await client.append("a", "!"), 9);
  equal(await client.getRange("a", -5, -2), "text");
  equal(await client.setRange("a", 10, "?"), 11);
  equal(await client.getEx("a", { type: "EX", value: 10 }), "ohmytext!\0?");
  equal(await client.lcs("a", "b"), "mytext");
  const { matches, len } = await client.lcsIdxWithMatchLen("a", "b");
  deepEqual([matches, len], [[[[4, 7], [5, 8], 4], [[2, 3], [0, 1], 2]], 6]);
  equal(await client.getDel("a"), "ohmytext!\0?");
}

async function keys(client) {
  await client.flushDb();
  await client.mSet(Object.fromEntries(numbered(500).map((i) => [`key:${i}`, String(i)])));
  const found = new Set();
  for await (const some of client.scanIterator({ MATCH: "key:*", COUNT: 50 })) some.forEach((key) => found.add(key));
  equal(found.size, 500);
  equal(await client.dbSize(), 500);
  equal(await client.expire("key:1", 100, "NX"), 1);
  equal(await client.ttl("key:1"), 100);
  ok(Math.abs((await client.expireTime("key:1")) - 100 - Date.now() / 1000) < 60);
  equal(await client.persist("key:1"), 1);
  equal(await client.type("key:1"), "string");
  equal(await client.objectEncoding("key:1"), "int");
  await rejects(client.objectFreq("key:1"), /^Error: ERR An LFU maxmemory policy is not selected/);
  equal(await client.rename("key:1", "renamed"), "OK");
  equal(await client.copy("renamed", "copied"), 1);
  equal(await client.exists(["renamed", "copied", "key:1"]), 2);
  equal(await client.restore("restored", 0, await client.withTypeMapping(inBytes).dump("renamed")), "OK");
  equal(await client.get("restored"), "1");
  equal(await client.unlink(["renamed", "copied", "nosuch"]), 2);
  ok((await client.memoryUsage("key:2")) > 0);
}

async function bits(client) {
  equal(await client.setBit("bits", 7, 1), 0);
  equal(await client.getBit("bits", 7), 1);
  equal(await client.bitCount("bits", { start: 0, end: -1, mode: "BIT" }), 1);
  equal(await client.bitPos("bits", 1), 7);
  equal(await client.bitOp("NOT", "inverted", "bits"), 1);
  const more = { operation: "INCRBY", encoding: "u8", offset: 0, increment: 300 };
  const read = { operation: "GET", encoding: "u8", offset: 0 };
  const operations = [more, { operation: "OVERFLOW", behavior: "FAIL" }, more, read];
  deepEqual(await client.bitField("bits", operations), [45, null, 45]);
}

async function administration(client) {
  const { maxmemory } = await client.configGet(["maxmemory", "nosuch"]);
  equal(maxmemory, "0");
  match(await client.info("server"), /^redis_version:7\.2\.\d+\r$/m);
  deepEqual(await client.role(), { role: "master", replicationOffest: 0, replicas: [] });
  ok(Math.abs(Number((await client.time())[0]) - Date.now() / 1000) < 60);
  const [get, nosuch] = await client.commandInfo(["get", "nosuch"]);
  deepEqual([get.name, get.arity, get.firstKeyIndex, nosuch], ["get", 2, 1, null]);
  const commands = await client.command();
  equal(commands.length, await client.commandCount());
  ok((await client.commandList({ FILTERBY: { type: "PATTERN", value: "get*" } })).includes("getrange"));
  const used = [{ key: "a", flags: ["OW", "update"] }, { key: "b", flags: ["OW", "update"] }];
  deepEqual((await client.commandGetKeysAndFlags(["MSET", "a", "1", "b", "2"])).map((one) => ({ ...one })), used);
  ok((await client.memoryStats())["keys.count"] > 0);
  deepEqual([await client.moduleList(), await client.wait(0, 1), await client.latencyLatest()], [[], 0, []]);
}

async function errors(client) {
  await client.set("text", "some");
  await rejects(client.incr("text"), { message: "ERR value is not an integer or out of range" });
  const unknown = { message: "ERR unknown command 'NOSUCH', with args beginning with: 'a' " };
  await rejects(client.sendCommand(["NOSUCH", "a"]), unknown);
  await rejects(client.sendCommand(["GET"]), { message: "ERR wrong number of arguments for 'get' command" });
  equal(await client.get("text"), "some"); // and the connection is as it was
}

async function pipelines(client) {
  await client.del("counter");
  deepEqual(await Promise.all(numbered(1000).map(() => client.incr("counter"))), numbered(1000)); // one write
  deepEqual(await client.multi().incr("counter").get("counter").execAsPipeline(), [1001, "1001"]);
  const some = numbered(10).map((i) => client.set(`large:${i}`, binaries.at(-1)).then(() => client.get(`large:${i}`)));
  for (const value of await Promise.all(some)) equal(value, binaries.at(-1).toString());
}

async function monitoring(client) {
  const other = await client.duplicate().connect();
  const seen = new Promise((resolve) => other.monitor((line) => String(line).includes('"watched"') && resolve(line)));
  while (!(await client.clientList()).some(({ flags }) => flags === "O"));
  await client.set("watched", 'a "quoted" word');
  match(await seen, /^\d+\.\d{6} \[2 127\.0\.0\.1:\d+\] "SET" "watched" "a \\"quoted\\" word"$/);
  other.destroy();
}

async function session() {
  const client = await createClient({ ...connection, database: 2, name: "me" }).connect();
  const parts = [connecting, strings, keys, bits, administration, errors, pipelines, monitoring];
  for (const part of parts) await part(client);
  await client.flushDb();
  await client.close();
}

async function restart() {
  const socket = { ...connection.socket, reconnectStrategy: () => 50 };
  const client = createClient({ ...connection, socket, database: 2 });
  const refused = new Promise((resolve) => client.on("error", ({ code }) => code === "ECONNREFUSED" && resolve()));
  await client.connect();
  equal(await client.set("before", "1"), "OK");
  console.log("ready");
  await refused; // the server is away
  const waiting = client.set("meanwhile", "1"); // kept until there is a server again
  await told();
  equal(await waiting, "OK");
  equal(await client.exists("before"), 0); // another server
  const { db, resp } = await client.clientInfo(); // as it was set up before
  deepEqual([db, resp], [2, Number(protocol)]);
  await client.close();
}

async function cluster() {
  const client = await createCluster({ rootNodes: [connection], RESP: Number(protocol) }).connect();
  deepEqual(client.masters.map(({ address }) => address), [`${host}:${port}`]);
  deepEqual([client.slots.length, client.replicas.length], [16384, 0]);
  for (const i of numbered(100)) equal(await client.set(`key:${i}`, binaries[2]), "OK");
  deepEqual(await client.withTypeMapping(inBytes).get("key:7"), binaries[2]);
  equal(await client.del(["{tag}a", "{tag}b"]), 0);
  deepEqual(await client.multi().incr("{tag}n").incr("{tag}n").get("{tag}n").execAsPipeline(), [1, 2, "2"]);
  await rejects(client.incr("key:7"), { message: "ERR value is not an integer or out of range" });
  const node = await client.nodeClient(client.masters[0]);
  equal(await node.dbSize(), 101);
  match(await node.clusterInfo(), /^cluster_state:ok\r\n/);
  equal((await node.clusterSlots())[0].to, 16383);
  await node.flushAll();
  await client.close();
}

await { session, restart, cluster }[scenario]();
