import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** Passes bytes between callers and a server, and cuts the connections when it is told to. */
export class Relay {
	readonly url: string;
	/** What was answered over the connections that stand. */
	heard = "";
	readonly #sockets = new Set<Socket>();

	private constructor(server: Server) {
		this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	}

	/** Ends with the test. */
	static async before(address: string): Promise<Relay> {
		const target = new URL(address);
		const accept = (socket: Socket) => relay.#join(socket, connect(Number(target.port), target.hostname));
		const server = createServer((socket) => accept(socket));
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		const relay = new Relay(server);
		onTestFinished(() => {
			relay.cut();
			server.close();
		});
		return relay;
	}

	/** Cuts every connection; new ones are taken. */
	cut(): void {
		this.heard = "";
		for (const socket of this.#sockets) socket.destroy();
	}

	#join(caller: Socket, server: Socket): void {
		server.on("data", (chunk) => (this.heard += chunk.toString()));
		for (const [one, other] of [
			[caller, server],
			[server, caller],
		] as const) {
			this.#sockets.add(one);
			one.pipe(other);
			one.on("error", () => {});
			one.once("close", () => {
				this.#sockets.delete(one);
				other.destroy();
			});
		}
	}
}
