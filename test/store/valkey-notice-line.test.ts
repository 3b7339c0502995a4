import { randomUUID } from "node:crypto";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { NoticeLine } from "../../src/store/valkey/notice-line.ts";
import { Servers } from "../../src/store/valkey/servers.ts";
import { parseValkeyUrl } from "../../src/store/valkey/url.ts";
import { hasValkey, startValkey } from "../servers/valkey-server.ts";

/** A name that leads to one server and, once switched, to another; connections that there are stay where they are. */
class SwitchingName {
	target: number;
	readonly sockets: Socket[] = [];
	readonly #between = createServer((client) => {
		const server = connect(this.target, "127.0.0.1");
		client.pipe(server).pipe(client);
		this.sockets.push(client);
		for (const end of [client, server]) {
			end.on("error", () => {});
			end.on("close", () => [client, server].forEach((socket) => void socket.destroy()));
		}
	});

	constructor(target: number) {
		this.target = target;
		onTestFinished(() => void this.#between.close());
	}

	async open(): Promise<number> {
		await new Promise<void>((resolve) => this.#between.listen(0, "127.0.0.1", resolve));
		return (this.#between.address() as AddressInfo).port;
	}
}

const portOf = (url: string): number => Number(new URL(url).port);

describe.runIf(hasValkey())("a line that hears notices", () => {
	it("does not stay with a server that commits no longer go to", async () => {
		const [first, second] = [await startValkey(["--save", ""]), await startValkey(["--save", ""])];
		onTestFinished(async () => void (await Promise.all([first.stop(), second.stop()])));
		const name = new SwitchingName(portOf(first.url));
		const servers = new Servers(parseValkeyUrl(`valkey://127.0.0.1:${await name.open()}`));
		onTestFinished(() => servers.close());
		await servers.nodes[0]?.connected(10_000);
		const line = new NoticeLine(servers, `${randomUUID()}:`, 50);
		onTestFinished(() => line.close());
		await line.open();
		const missed = new Promise<void>((resolve) => (line.onGap = resolve));
		name.target = portOf(second.url);
		// The connection that calls take breaks and is made anew; the line's does not.
		name.sockets[0]?.destroy();
		await missed;
		const heard = new Promise<string>((resolve) => (line.onMessage = resolve));
		await servers.call(0, ["PUBLISH", line.channel, "news"]);
		expect(await heard).toBe("news");
	});

	it("is kept for as long as it hears", async () => {
		const server = await startValkey(["--save", ""]);
		onTestFinished(() => server.stop());
		const servers = new Servers(parseValkeyUrl(server.url));
		onTestFinished(() => servers.close());
		await servers.nodes[0]?.connected(10_000);
		const line = new NoticeLine(servers, `${randomUUID()}:`, 5);
		onTestFinished(() => line.close());
		await line.open();
		let gaps = 0;
		line.onGap = () => gaps++;
		let probes = 0;
		const call = servers.call.bind(servers);
		const enough = new Promise<void>((resolve) => {
			servers.call = (...given) => {
				if (String(given[1]).startsWith("PUBLISH") && ++probes === 20) resolve();
				return call(...given);
			};
		});
		await enough;
		expect(gaps).toBe(0);
	});
});
