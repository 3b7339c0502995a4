/**
 * Makes a flow of many layers, unless it is there, and works on it in the same process until it is killed or all is done.
 * Every node gives one more than its upstreams together. It says which node it runs.
 */
import { FlowFabric } from "../../../dist/index.js";
import { layeredFlow, MODULUS } from "./layered-flow.mjs";

const [url, partitions, layers, width] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
const ff = await FlowFabric.open(url, { partitions: Number(partitions) });
const { id } = await ff.backend.flows.create({
	idempotencyKey: "the one",
	...layeredFlow(Number(layers), Number(width)),
});
say(`flow ${id}`);
const worker = ff.worker({ concurrency: 16, leaseMs: 2000, handleSignals: false });
worker.handle("node", async ({ parents }, key) => {
	say(`ran ${key}`);
	return Object.values(parents).reduce((sum, { result }) => (sum + result) % MODULUS, 1);
});
await worker.start();
await ff.backend.flows.wait(id);
await ff.close();
