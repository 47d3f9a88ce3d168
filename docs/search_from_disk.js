// A browser starts no worker for a page that was opened from disk. There, the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.onmessage?.({ data: structuredClone(data) });
      const script = inside.document.createElement("script");
      this.ready = new Promise((resolve) => (script.onload = resolve));
      script.onerror = () => this.onerror?.(new Event("error"));
      script.src = address;
      inside.document.body.append(script);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow?.onmessage({ data: structuredClone(data) }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
