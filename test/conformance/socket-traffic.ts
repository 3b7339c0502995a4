import { channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";

/**
 * Watches every connection between a client and a server of this process and knows whether anything is on its way: bytes
 * written at one end and not yet read at the other, a connection being made, or one end closed and the other not yet.
 */
class SocketTraffic {
	readonly #clients = new Set<Socket>();
	readonly #servers = new Map<number, Socket>();
	readonly #ports = new Set<number>();

	constructor() {
		channel("net.client.socket").subscribe((message) => {
			const { socket } = message as { socket: Socket };
			this.#clients.add(socket);
			socket.once("close", () => this.#clients.delete(socket));
		});
		channel("net.server.socket").subscribe((message) => {
			const { socket } = message as { socket: Socket };
			const port = socket.remotePort ?? 0;
			this.#servers.set(port, socket);
			socket.once("close", () => this.#servers.get(port) === socket && this.#servers.delete(port));
		});
	}

	/** A server of this process listens here; connections to any other port lead elsewhere and are not watched. */
	servedAt(address: string): void {
		this.#ports.add(Number(new URL(address).port));
	}

	get busy(): boolean {
		const served = new Set(this.#servers.keys());
		for (const client of this.#clients) {
			if (client.connecting) return true;
			if (!this.#ports.has(client.remotePort ?? 0) && !client.destroyed) continue;
			const port = client.localPort ?? 0;
			const server = this.#servers.get(port);
			if (!server && client.destroyed) continue;
			if (!server) return true;
			served.delete(port);
			if (client.bytesWritten !== server.bytesRead || server.bytesWritten !== client.bytesRead) return true;
		}
		// What is left has lost its client and is about to notice.
		return served.size > 0;
	}
}

export const socketTraffic = new SocketTraffic();
