import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { FlowFabric } from "flowfabric";

/**
 * Work that waits for an outside system that knows nothing of FlowFabric: a payment provider gets a URL, and posts there when
 * the customer has paid. Server, worker and provider all run in this program. Run it after `npm run build`.
 */

// This example starts its own server. Usually one runs already, and FF_PUBLIC_URL is its public address.
const program = fileURLToPath(new URL("./cli/main.js", import.meta.resolve("flowfabric")));
const server = spawn(process.execPath, [program, "serve", "--store", "memory:", "--listen", "127.0.0.1:0"]);
const address = await new Promise<string>((resolve) => {
	let said = "";
	const listen = (chunk: Buffer) => {
		said += chunk.toString();
		const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
		if (url) resolve(url);
	};
	server.stdout.on("data", listen);
	server.stderr.on("data", listen);
});

/** The payment provider: it accepts payment requests, and calls back when the customer pays. */
const orders: { cents: number; callback: string }[] = [];
const provider = createServer(async (request, response) => {
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk);
	orders.push(JSON.parse(Buffer.concat(chunks).toString()));
	response.writeHead(202).end();
});
provider.listen(0, "127.0.0.1");
await once(provider, "listening");
const providerUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;

const post = (url: string, body: object) =>
	fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

type Kinds = { order: { input: { number: string; cents: number }; result: string } };
const ff = FlowFabric.connect<Kinds>(address);
const worker = ff.worker();
worker.handle("order", async (ctx, { number, cents }) => {
	const { callbackUrl } = await ctx.waitpoint("payment");
	// Without FF_PUBLIC_URL a callback URL is only a path. It contains a secret token: give it to nobody else.
	const callback = new URL(callbackUrl, address).href;
	await ctx.step("ask for the money", async () => void (await post(providerUrl, { cents, callback })));
	const { payload } = await ctx.waitForSignal("callback", { waitpoint: "payment", timeoutMs: 3_600_000 });
	return `${number} is paid: ${JSON.stringify(payload)}`;
});
await worker.start();

const run = await ff.submit("order", { number: "A-17", cents: 1250 });
for await (const { event } of ff.follow(run.id)) if (event.type === "suspended") break;
console.log(`A-17: ${(await run.get()).blockingDetail.replace(/ until .*/, "")}`);

// The customer pays.
const [order] = orders;
const call = async () => {
	const answer = await post(order?.callback ?? "", { cents: order?.cents, method: "card" });
	const { effect, error } = (await answer.json()) as { effect?: string; error?: { code: string } };
	return `${answer.status} ${effect ?? error?.code}`;
};
console.log(`the provider calls back: ${await call()}`);
console.log(await run.result());
console.log(`the provider calls once more: ${await call()}`);

await ff.close();
provider.close();
server.kill();
await once(server, "exit");
