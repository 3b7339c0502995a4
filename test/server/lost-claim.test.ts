import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { openBackend } from "../../src/library/open.ts";
import { serveEngine } from "../../src/server/server.ts";

/** Stands between client and server; the first answer to calls of this path reaches it whole and goes no further. */
async function losingFirst(path: string, serverPort: number) {
	const sockets = new Set<Socket>();
	const tries: string[] = [];
	const proxy = createServer((client) => {
		const server = connect(serverPort, "127.0.0.1");
		let swallow = false;
		for (const socket of [client, server]) {
			sockets.add(socket);
			socket.on("error", () => {});
		}
		client.on("data", (data) => {
			if (data.includes(`POST ${path}`)) {
				tries.push(/x-flowfabric-try: (\d+)/i.exec(data.toString())?.[1] ?? "");
				swallow = tries.length === 1;
			}
			server.write(data);
		});
		server.on("data", (data) => {
			// The server's side stays open: for all it knows the answer was delivered.
			if (swallow) client.destroy();
			else client.write(data);
		});
		client.on("end", () => server.end());
	});
	proxy.listen(0, "127.0.0.1");
	await once(proxy, "listening");
	const close = () => {
		for (const socket of sockets) socket.destroy();
		proxy.close();
	};
	return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, tries, close };
}

test.each([1, 8])(
	"a claim whose answer was lost is sent again and brings the same leases (%i partitions)",
	async (partitions) => {
		const local = await openBackend("memory:", { partitions });
		const server = await serveEngine({
			engine: local.engine,
			backendFor: (caller) => local.as(caller),
			port: 0,
			docs: false,
		});
		const proxy = await losingFirst("/v1/claims", Number(new URL(server.address).port));
		const ids = await Promise.all(
			Array.from({ length: 6 }, async () => (await local.executions.create({ kind: "work" })).id),
		);
		const ff = FlowFabric.connect(proxy.url);
		const claimed = await ff.backend.leases.claim({ workerId: "w", instanceId: "i", max: 4 });
		expect(proxy.tries).toEqual(["1", "2"]);
		expect(claimed.length).toBe(4);
		const states = await Promise.all(ids.map(async (id) => local.executions.get(id)));
		const active = states.filter(({ publicState }) => publicState === "active");
		// Nothing is held under leases that nobody heard of.
		expect(active.map(({ lease }) => lease?.id).sort()).toEqual(claimed.map(({ lease }) => lease.id).sort());
		await ff.close();
		proxy.close();
		await server.close();
		await local.close();
	},
);

test.each([1, 8])(
	"a grant whose answer was lost is sent again and is the same grant (%i partitions)",
	async (partitions) => {
		const local = await openBackend("memory:", { partitions });
		const server = await serveEngine({
			engine: local.engine,
			backendFor: (caller) => local.as(caller),
			port: 0,
			docs: false,
		});
		const proxy = await losingFirst("/v1/grants", Number(new URL(server.address).port));
		const ids = await Promise.all(
			Array.from({ length: 3 }, async () => (await local.executions.create({ kind: "work" })).id),
		);
		const ff = FlowFabric.connect(proxy.url);
		const grant = await ff.backend.leases.grant({ workerId: "w", instanceId: "i", grantTtlMs: 60_000 });
		expect(proxy.tries).toEqual(["1", "2"]);
		const states = await Promise.all(ids.map(async (id) => local.executions.get(id)));
		const reserved = states.filter(({ state }) => state.ownershipState === "granted");
		expect(reserved.map(({ id }) => id)).toEqual([grant?.executionId]);
		await ff.close();
		proxy.close();
		await server.close();
		await local.close();
	},
);

test.each([1, 8])(
	"what budgets and quotas gave for a claim whose answer was lost is given once (%i partitions)",
	async (partitions) => {
		const local = await openBackend("memory:", { partitions });
		const server = await serveEngine({
			engine: local.engine,
			backendFor: (caller) => local.as(caller),
			port: 0,
			docs: false,
		});
		const claims = await losingFirst("/v1/claims", Number(new URL(server.address).port));
		const grants = await losingFirst("/v1/grants", Number(new URL(server.address).port));
		await local.budgets.create({ id: "b", dimensions: { tokens: { hard: 1000 } } });
		await local.quotas.create({ id: "q", concurrency: 10, rate: { max: 10, windowMs: 60_000 } });
		const guarded = { kind: "work", budgets: ["b"], quotas: ["q"], reserve: { b: { tokens: 5 } } };
		for (let n = 0; n < 6; n++) await local.executions.create(guarded);
		const given = async () => {
			const { concurrency, rate, holders } = await local.quotas.get("q");
			const { reserved } = (await local.budgets.get("b")).dimensions.tokens ?? {};
			const ids = holders.map((holder) => ("leaseId" in holder ? holder.leaseId : holder.grantId));
			return { held: concurrency?.held, counted: rate?.counted, reserved, ids: ids.sort() };
		};

		const claimer = FlowFabric.connect(claims.url);
		const claimed = await claimer.backend.leases.claim({ workerId: "w", instanceId: "i", max: 4 });
		expect(claims.tries).toEqual(["1", "2"]);
		const leases = claimed.map(({ lease }) => lease.id);
		expect(await given()).toEqual({ held: 4, counted: 4, reserved: 20, ids: leases.sort() });

		const granted = FlowFabric.connect(grants.url);
		const grant = await granted.backend.leases.grant({ workerId: "w", instanceId: "i", grantTtlMs: 60_000 });
		expect(grants.tries).toEqual(["1", "2"]);
		expect(await given()).toEqual({ held: 5, counted: 5, reserved: 25, ids: [...leases, grant?.grantId].sort() });
		await claimer.close();
		await granted.close();
		claims.close();
		grants.close();
		await server.close();
		await local.close();
	},
);
