import { fork } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fastify } from "fastify";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric } from "../../src/index.ts";
import type { RunningServer } from "../../src/server/options.ts";
import { startServer } from "../../src/server/server.ts";
import { payload, type Target } from "../target.ts";
import { lifecycle } from "./lifecycle.ts";

const TOKEN = "a-token-for-the-benchmark";
const CONNECTIONS = 32;

function serve({ ff }: Target): Promise<RunningServer> {
	const backend = ff.backend as LocalBackend;
	return startServer({
		engine: backend.engine,
		backendFor: (caller) => backend.as(caller),
		port: 0,
		docs: false,
		adminToken: TOKEN,
	});
}

/** Lifecycles per second of a submitter and a worker over HTTP, both in the server's own process. */
export async function httpLifecycle(target: Target, count: number): Promise<number> {
	const server = await serve(target);
	const ff = FlowFabric.connect(server.address, { token: TOKEN });
	try {
		return await lifecycle({ ...target, ff }, count);
	} finally {
		await ff.close();
		await server.close();
	}
}

/** Reads of one execution per second, and those of a bare route that sends the same JSON, asked by another process. */
export async function httpGet(target: Target, count: number): Promise<{ figure: number; bare: number }> {
	const server = await serve(target);
	const { id } = await target.ff.submit("noop", payload(1));
	const view = await target.ff.get(id);
	const bare = fastify();
	bare.get("/v1/executions/:id", async () => view);
	await bare.listen({ port: 0, host: "127.0.0.1" });
	const { port } = bare.server.address() as AddressInfo;
	const asker = fork(new URL(import.meta.resolve("./asker.js")), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
	const ask = async (origin: string): Promise<number> => {
		asker.send({ origin, path: `/v1/executions/${id}`, token: TOKEN, count, connections: CONNECTIONS });
		const [perSecond] = await once(asker, "message");
		return perSecond as number;
	};
	try {
		const bareFigure = await ask(`http://127.0.0.1:${port}`);
		return { bare: bareFigure, figure: await ask(server.address) };
	} finally {
		asker.kill();
		await bare.close();
		await server.close();
	}
}
