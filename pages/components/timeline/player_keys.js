// The page's keys before an audience: whatever has the focus, they move the player.

const PLAYER_KEYS = {
  " ": (player) => player.press(player.button("play")),
  ArrowLeft: (player) => player.press(player.button("back")),
  ArrowRight: (player) => player.press(player.button("forth")),
  Home: (player) => player.seek(player.moments[0] ?? 0),
  End: (player) => player.end(),
};

export class PlayerKeys {
  constructor(player) {
    this.player = player;
    this.pressed = (event) => this.press(event);
  }

  listen(isOn) {
    // Before anything on the page gets them.
    if (isOn) window.addEventListener("keydown", this.pressed, true);
    else window.removeEventListener("keydown", this.pressed, true);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.key.toLowerCase() === "f") this.fillScreen();
    else if (!PLAYER_KEYS[event.key]) return;
    else if (this.player.component.data.replayable) PLAYER_KEYS[event.key](this.player);
    event.preventDefault();
    event.stopPropagation();
  }

  fillScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen?.().catch(() => {});
  }
}
