import { FlowFabric } from "flowfabric";
import { startServer } from "flowfabric/server";

type Kinds = { shout: { input: { text: string }; result: string } };

// A server, its engine and a worker in one process. A store of a real program is a file or Valkey, not memory.
const server = await startServer<Kinds>({ store: "memory:", listen: "127.0.0.1:0", token: "a-token-of-16-characters" });

const worker = server.ff.worker();
worker.handle("shout", async (_ctx, { text }) => text.toUpperCase());
await worker.start();

// In this process nothing has to travel …
const here = await server.ff.submit("shout", { text: "no connection" });
console.log(await here.result());

// … and any other program reaches the same work by the URL.
const client = FlowFabric.connect<Kinds>(server.url, { token: "a-token-of-16-characters" });
const there = await client.submit("shout", { text: "over http" });
console.log(await there.result());
await client.close();

// Lets calls and handlers finish, then closes the store.
await server.close();
console.log("closed");
