import type { AddressInfo } from "node:net";
import { FlowFabricError } from "../contract/errors.ts";
import { makeApp } from "./app.ts";
import { configError } from "./config-error.ts";
import { watchConnections } from "./connections.ts";
import { refuseOpenDoor } from "./listening.ts";
import { plainLog, silentLog } from "./log.ts";
import { ServerMetrics } from "./metrics.ts";
import type { RunningServer, ServerOptions } from "./options.ts";
import { makePools } from "./pools.ts";
import { MAX_RATE } from "./request-rate.ts";
import type { ServerContext } from "./server-context.ts";
import { closeGracefully } from "./shutdown.ts";
import { VERSION } from "./version.ts";

const DEFAULT_PORT = 9090;

/** Checks every setting, then listens; calls are answered from the moment this resolves. */
export async function serveEngine(options: ServerOptions): Promise<RunningServer> {
	const { host = "127.0.0.1", port = DEFAULT_PORT, heartbeatMs = 15_000, graceMs = 10_000 } = options;
	checkSettings(options);
	const log = plainLog(options.log ?? silentLog());
	const pools = makePools(options.pools);
	const metrics = new ServerMetrics(options.engine, pools);
	const context: ServerContext = { log, metrics, pools, waiting: new Set(), tails: new Set(), closing: false };
	try {
		const { app, guarded } = await makeApp(options, context);
		await refuseOpenDoor(host, guarded);
		await listen(app, host, port);
		const { address, port: bound, family } = app.server.address() as AddressInfo;
		const url = `http://${family === "IPv6" ? `[${address}]` : address}:${bound}`;
		const beat = setInterval(() => {
			for (const tail of context.tails) tail.beat();
		}, heartbeatMs);
		beat.unref();
		const connections = watchConnections(app.server, {
			unreadMs: options.unreadMs ?? 60_000,
			unsentBytes: options.unsentBytes ?? 256 * 1024 * 1024,
			onCount: (open) => metrics.connections(open),
			onCut: () => metrics.cutConnection(),
		});
		app.server.on("drop", () => log.warn({ maxConnections: app.server.maxConnections }, "a connection was refused"));
		log.info(
			{
				version: VERSION,
				store: options.storeName ?? "unnamed",
				partitions: options.engine.runners.length,
				address: url,
				auth: guarded ? "tokens" : "none, loopback only",
			},
			"flowfabric is listening",
		);
		let closed: Promise<void> | undefined;
		const close = async () => {
			await closeGracefully(app, context, { graceMs, sockets: connections.sockets });
			clearInterval(beat);
			connections.stop();
			metrics.close();
			log.info("flowfabric has stopped listening");
		};
		return { address: url, port: bound, close: () => (closed ??= close()) };
	} catch (error) {
		metrics.close();
		throw error;
	}
}

async function listen(app: Awaited<ReturnType<typeof makeApp>>["app"], host: string, port: number): Promise<void> {
	try {
		await app.listen({ host, port });
	} catch (error) {
		await app.close();
		const { code } = error as NodeJS.ErrnoException;
		if (code === "EADDRINUSE") throw configError("port", `${port} on ${host} is in use by another program`);
		if (code === "EACCES")
			throw configError("port", `${port} on ${host} needs a permission that this program does not have`);
		if (code === "EADDRNOTAVAIL") throw configError("host", `${host} is not an address of this machine`);
		throw new FlowFabricError("internal", { message: `cannot listen on ${host}:${port}`, cause: error });
	}
}

function checkSettings(options: ServerOptions): void {
	whole("port", options.port, 0, 65_535);
	whole("maxConnections", options.maxConnections, 1, 1_000_000);
	whole("requestsPerSecond", options.requestsPerSecond, 1, MAX_RATE);
	whole("requestBurst", options.requestBurst, 1, MAX_RATE);
	whole("requestTimeoutMs", options.requestTimeoutMs, 1, 3_600_000);
	whole("keepAliveMs", options.keepAliveMs, 0, 3_600_000);
	whole("unreadMs", options.unreadMs, 1, 3_600_000);
	whole("unsentBytes", options.unsentBytes, 1, Number.MAX_SAFE_INTEGER);
	whole("heartbeatMs", options.heartbeatMs, 1, 3_600_000);
	whole("graceMs", options.graceMs, 0, 3_600_000);
	for (const [name, max] of Object.entries(options.pools ?? {})) whole(`pools.${name}`, max, 1, 1_000_000);
}

function whole(setting: string, value: number | undefined, low: number, high: number): void {
	if (value === undefined || (Number.isInteger(value) && value >= low && value <= high)) return;
	throw configError(setting, `must be an integer from ${low} to ${high}, got ${String(value)}`);
}
